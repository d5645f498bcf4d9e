sglang serve --model-path org/target --speculative-draft org/draft
