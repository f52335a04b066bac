"""Trust: every call is made, and nobody is asked."""
