"""The four problems live, at small scale: a service, simulated users, and what they show."""
