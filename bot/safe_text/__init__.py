"""Text of strangers, shown so that it can be nothing else: arguments, names, and the characters that deceive."""
