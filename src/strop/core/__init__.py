"""What every layer uses: journal, problems and their codes, passes, the rewrite engine, cache, options."""
