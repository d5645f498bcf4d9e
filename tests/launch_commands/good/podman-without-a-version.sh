podman run docker.io/lmsysorg/sglang:latest sglang serve --model-path org/target
