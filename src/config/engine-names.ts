/** Names of engines and services that users write as the kind of a backend. The kind names the API, not the engine. */
import type { BackendKind } from "../backends/kinds.ts";
import { quote } from "../core/did-you-mean.ts";

const OF_OPENAI =
	"vllm sglang llamacpp llamaserver lmstudio localai tgi textgenerationinference tensorrtllm trtllm triton nim mlx mlxlm exo jan llamafile koboldcpp aphrodite lmdeploy ramalama dockermodelrunner openrouter groq together togetherai fireworks deepinfra deepseek mistral xai perplexity cerebras azure azureopenai litellm huggingface openaicompatible openaichat";

const KIND_OF_ENGINE = new Map<string, BackendKind>([
	...OF_OPENAI.split(" ").map((name): [string, BackendKind] => [name, "openai"]),
	...["claude", "anthropicmessages"].map((name): [string, BackendKind] => [name, "anthropic"]),
	...["google", "googleaistudio", "vertex", "vertexai"].map((name): [string, BackendKind] => [
		name,
		"gemini",
	]),
	...["infinity", "textembeddingsinference"].map((name): [string, BackendKind] => [name, "tei"]),
	...["cloudflare", "workersai"].map((name): [string, BackendKind] => [name, "workers-ai"]),
	["replicate", "cog"],
]);

/** Text to append to the error of an unknown kind. Empty if it is no name of an engine. */
export function engineHint(kind: unknown): string {
	if (typeof kind !== "string") return "";
	const found = KIND_OF_ENGINE.get(kind.toLowerCase().replace(/[^a-z0-9]/g, ""));
	return found === undefined ? "" : `. The kind names the API: for ${kind} use ${quote(found)}`;
}
