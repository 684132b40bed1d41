import { PROVIDERS as PRODUCTION, type Provider } from "../../../src/providers/providers.ts";

export const PROVIDERS: Readonly<Record<string, Provider>> = {
	...PRODUCTION,
	acme: { kind: "openai", url: "https://api.acme.example/v1" },
};
