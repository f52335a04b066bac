"""What an operator uses: the doctor, dead letters, usage, what start-up says."""
