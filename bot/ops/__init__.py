"""What an operator uses: the doctor, dead letters, what start-up says."""
