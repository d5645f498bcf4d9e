"""Reading a checkpoint folder without trusting it: file list, JSON files, headers, shard index."""
