/**
 * All texts that a step sends to an engine or a provider, for data-loss prevention: those of its body and its parameters
 * (`text-collector.ts`), and the path, the query and the headers of a provider's call. Not read: keys of providers, ids of traces.
 */
import type { GatewayStep } from "../request.ts";
import { TextCollector } from "./text-collector.ts";

interface SentTexts {
	texts: string[];
	/** A part of the request has no form that can be read. */
	isUnreadable: boolean;
}

/** Decimal ids that services of tracing add to every call. */
const TRACE = /^(?:traceparent|x-datadog-(?:trace|parent)-id|x-b3-\w+)$/;
/** Google's SDKs send the key of the provider in the query. */
const KEY_IN_QUERY = /([?&]key=)[^&]*/g;

export async function sentTexts({ body, endpoint, provider, passed }: GatewayStep): Promise<SentTexts> {
	const texts: string[] = [];
	const found = new TextCollector(({ text, plain }) => {
		texts.push(text);
		if (plain !== text) texts.push(plain);
	});
	const { content, contentType, parameters } = body;
	found.value(parameters);
	found.address(provider === "google-ai-studio" ? endpoint.replace(KEY_IN_QUERY, "$1") : endpoint);
	if ("json" in content) found.value(content.json);
	else await found.body(content.bytes, contentType);
	for (const [name, value] of passed?.headers ?? [])
		if (!TRACE.test(name)) found.address(`${name}: ${value}`);
	// The provider may read what a JSON parser drops, such as the first of two equal keys.
	if (typeof passed?.body === "string") found.text(passed.body);
	else if (passed?.body) found.bytes(passed.body, passed.headers.get("content-type") ?? contentType);
	return { texts, isUnreadable: found.isUnreadable };
}
