sglang serve --model-path org/target

CMD='vllm serve org/target'
$CMD --no-such-flag
