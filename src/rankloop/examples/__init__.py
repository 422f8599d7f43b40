"""Whole programs that use rankloop as any other program would."""
