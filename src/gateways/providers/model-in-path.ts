/** The model that the path of a provider's endpoint names, for providers whose bodies do not. */
import { own } from "../../core/own.ts";

const PATTERNS: Readonly<Record<string, RegExp>> = {
	"aws-bedrock": /\/model\/([^/?]+)\//,
	// The name of the deployment.
	"azure-openai": /^\/*[^/]+\/([^/?]+)\//,
	"google-ai-studio": /^\/*v1\w*\/models\/([^/?:]+)/,
	"google-vertex-ai": /\/models\/([^/?:]+)/,
};

/** `endpoint`: the path below the provider's address, with its query. */
export function modelInPath(provider: string, endpoint: string): string | undefined {
	const pattern = own(PATTERNS, provider);
	const [, model] = pattern?.exec(endpoint.replace(/\?.*$/, "")) ?? [];
	return model === undefined ? undefined : decodedPath(model);
}

/** SDKs encode the slashes and colons of a model's name. */
export function decodedPath(path: string): string {
	try {
		return decodeURIComponent(path);
	} catch {
		return path;
	}
}
