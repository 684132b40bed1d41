/**
 * The adapters that Workers AI offers to everyone (developers.cloudflare.com/workers-ai/features/fine-tunes/public-loras). The product names
 * them by id too, which is not documented: here the id is the name.
 */
const NAMES = ["cf-public-magicoder", "cf-public-jigsaw-classification", "cf-public-cnn-summarization"];
const BASES = ["@cf/mistral/mistral-7b-instruct-v0.1", "@hf/mistral/mistral-7b-instruct-v0.2"];
/** The day on which the product began to offer adapters. */
const OFFERED_AT = "2024-04-02T00:00:00.000Z";

export const PUBLIC_ADAPTERS = BASES.flatMap((model) =>
	NAMES.map((name) => ({
		...{ id: name, model, name, description: "", public: true },
		...{ created_at: OFFERED_AT, modified_at: OFFERED_AT },
	})),
);

/** Whether the name is that of an adapter of the product. */
export const isPublicAdapter = (name: string): boolean => NAMES.includes(name);
