"""The dashboard: pages of the service that show its loops. They hold no data, and fetch it with a key."""
