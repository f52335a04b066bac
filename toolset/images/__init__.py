"""Pictures that a model makes, and the program that makes them small enough for every platform."""
