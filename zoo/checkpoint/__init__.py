"""Reading a checkpoint folder without trusting it: file list, JSON files, safetensors headers, the shard index."""
