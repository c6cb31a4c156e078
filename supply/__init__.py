"""What trustgauge is made of: locks, licences, a bill of materials, known vulnerabilities."""
