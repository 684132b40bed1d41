/** Finds the catalogue's model for a provider's own name of it. */
import { authorOf, type Catalog } from "../models/catalog.ts";
import type { Model } from "../models/model.ts";
import { isThirdPartyId, THIRD_PARTY_IDS } from "../models/third-party.ts";
import { PROVIDERS } from "./providers.ts";

/** `claude-sonnet-4-5-20250929`, `gpt-5-2025-08-07` and `claude-3-7-sonnet-latest` are versions of a model. */
const VERSION = /-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

/** `author`: in the ids of the provider's models. The part after it in the id may be the name, too. */
export function modelOfProvider(author: string, name: string, catalog: Catalog): Model | undefined {
	for (const version of [name, name.replace(VERSION, "")]) {
		const id = `${author}/${version}`;
		const model = catalog.find(id) ?? catalog.find(idsByName().get(id) ?? "");
		if (model) return model;
	}
	return undefined;
}

/** A model that only a route names. If it is a version of a model in the catalogue, it has the price of that model. */
export function namedModel(id: string, catalog: Catalog): Model {
	const author = authorOf(id);
	return catalog.adHoc(
		id,
		isThirdPartyId(id) ? modelOfProvider(author, id.slice(author.length + 1), catalog) : undefined,
	);
}

let ids: ReadonlyMap<string, string> | undefined;

/** The ids of models that have another name at their provider, by author and this name. Built at the first use. */
function idsByName(): ReadonlyMap<string, string> {
	ids ??= new Map(
		THIRD_PARTY_IDS.flatMap((id) => {
			const slash = id.indexOf("/");
			const author = id.slice(0, slash);
			const name = PROVIDERS[author]?.nameOf?.(id.slice(slash + 1));
			return name === undefined ? [] : [[`${author}/${name}`, id]];
		}),
	);
	return ids;
}
