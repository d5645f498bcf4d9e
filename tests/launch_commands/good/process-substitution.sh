sglang serve --model-path org/target <(echo --no-such-flag) > >(tee log)
