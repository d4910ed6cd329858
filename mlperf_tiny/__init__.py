"""MLPerf Tiny on tinydeploy: benchmarks, device harness, runner and submission (rules v1.4)."""
