"""What others are told of refreshes, where it is wanted: OpenTelemetry and OpenLineage."""
