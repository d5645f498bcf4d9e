sglang serve --model-path org/target
pid=$(python -m sglang.launch_server --no-such-flag & echo $!)
$ENGINE serve org/other
ssh node 'vllm serve org/target'
