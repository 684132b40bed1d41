/**
 * The bindings `ai_search` and `ai_search_namespace` of a Worker: service bindings to the entrypoints `AiSearchInstance` and
 * `AiSearchNamespace`, as the product's bindings are.
 */
import type { ServiceDesignator, Worker_Binding } from "miniflare";
import * as z from "zod";
import { Problems } from "../src/config/problems.ts";
import { Identifier } from "../src/retrieval/search/identifier.ts";
import type { AiSearchOptions } from "./api.ts";
import type { BindingClass } from "./node-stub.ts";
import type { Source } from "./options.ts";
import { serviceName } from "./services.ts";

const Fields = z.strictObject({
	instance_name: Identifier().optional(),
	namespace: Identifier().optional(),
} satisfies Record<keyof AiSearchOptions, z.ZodType>);

export type SearchFields = z.output<typeof Fields>;

/** wrangler puts a prefix before the types of `unsafe.bindings`. */
const TYPE = /^(?:unsafe:)?ai_search(_namespace)?$/;

export const isAiSearch = (type: string): boolean => TYPE.test(type);

const isNamespaceType = (type: string): boolean => TYPE.exec(type)?.[1] !== undefined;

/** Divides the options into those of AI Search and those of the gateway. Throws a `ConfigError`. */
export function readSearch(
	type: string,
	options: Readonly<Record<string, unknown>>,
): { search: SearchFields; others: Record<string, unknown> } {
	const { instance_name, namespace, ...others } = options;
	const problems = new Problems();
	// A running gateway is reached over HTTP, which cannot carry RPC.
	if ("url" in others)
		problems.add(
			["dev.options", "url"],
			"expected no such field: a gateway that runs has AI Search over REST",
		);
	const search = problems.parse(Fields, { instance_name, namespace }, ["dev.options"]);
	const isNamespace = isNamespaceType(type);
	if (!isNamespace && instance_name === undefined)
		problems.add(["dev.options", "instance_name"], "expected the id of an instance, found nothing");
	if (isNamespace && instance_name !== undefined)
		problems.add(["dev.options", "instance_name"], "expected no such field of a namespace");
	problems.throwIfAny();
	if (!search) throw new TypeError("no problem and no value");
	return { search, others };
}

export const searchClass = ({ instance_name }: SearchFields): BindingClass =>
	instance_name === undefined ? "searchNamespace" : "searchInstance";

/** The namespace and the instance are created at their first use. The account is in the props of the binding, which the Worker cannot change. */
export function searchBinding(name: string, source: Source, search: SearchFields): Worker_Binding {
	const { instance_name: instance, namespace } = search;
	const account = source.kind === "url" ? undefined : source.account;
	const props = { account, namespace, instance, create: true };
	const service: ServiceDesignator = {
		name: serviceName(source),
		entrypoint: instance === undefined ? "AiSearchNamespace" : "AiSearchInstance",
		props: { json: JSON.stringify(props) },
	};
	return { name, service };
}
