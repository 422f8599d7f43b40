"""The live loop as a service: `rankloop serve`."""
