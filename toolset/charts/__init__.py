"""Charts as pictures, drawn by a program of its own."""
