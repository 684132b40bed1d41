/** Finds the catalogue's model for a provider's own name of it. */
import { lazy } from "../core/lazy.ts";
import { own } from "../core/own.ts";
import type { Catalog } from "../models/catalog.ts";
import type { Model } from "../models/model.ts";
import { authorOf, isThirdPartyId, THIRD_PARTY_IDS } from "../models/third-party.ts";
import { PROVIDERS } from "./providers.ts";

/** `claude-sonnet-4-5-20250929`, `gpt-5-2025-08-07` and `claude-3-7-sonnet-latest` are versions of a model. */
const VERSION = /-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/;

/** `author`: that in the ids of the provider's models. `name`: the provider's name of the model, or the part of the id after the author. */
export const modelOfProvider = (author: string, name: string, catalog: Catalog): Model | undefined =>
	modelNamed(author, name, catalog) ?? modelNamed(author, name.replace(VERSION, ""), catalog);

/** As {@link modelOfProvider}, but a version of a model is another model. */
export function modelNamed(author: string, name: string, catalog: Catalog): Model | undefined {
	const id = `${author}/${name}`;
	return catalog.find(id) ?? catalog.find(idsByName().get(id) ?? "");
}

/** A model that only a route names. If it is a version of a model in the catalogue, it has the price of that model. */
export function namedModel(id: string, catalog: Catalog): Model {
	return catalog.adHoc(id, () =>
		isThirdPartyId(id) ? modelOfProvider(authorOf(id), nameIn(id), catalog) : undefined,
	);
}

/** The part of an id after the author. */
const nameIn = (id: string): string => id.slice(authorOf(id).length + 1);

/** The ids of models that have another name at their provider, by author and this name. */
const idsByName = lazy(
	(): ReadonlyMap<string, string> =>
		new Map(
			THIRD_PARTY_IDS.flatMap((id) => {
				const author = authorOf(id);
				const name = own(PROVIDERS, author)?.nameOf?.(nameIn(id));
				return name === undefined ? [] : [[`${author}/${name}`, id]];
			}),
		),
);
