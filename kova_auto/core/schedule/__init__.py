"""Say which instants a schedule implies."""
