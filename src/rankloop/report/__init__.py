"""What a person sees: tables and pages."""
