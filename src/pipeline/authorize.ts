/** The model a caller named, or the reason why not. */

import { AiError } from "../core/errors.ts";
import { authorOf } from "../models/catalog.ts";
import type { Model } from "../models/model.ts";
import {
	isThirdPartyId,
	THIRD_PARTY_AUTHORS,
	THIRD_PARTY_SOURCE,
	unservedTask,
} from "../models/third-party.ts";
import { PROVIDERS } from "../providers/providers.ts";
import type { Services } from "./services.ts";

export type AuthorizeServices = Pick<Services, "catalog" | "routing" | "now">;

/** A model that has ended runs where a route names it: the operator serves it, whatever the product does. */
export function authorize(id: string, services: AuthorizeServices): Model {
	// Half of a surrogate pair cannot be sent to an engine, nor back in a header.
	if (!id.isWellFormed()) throw new AiError("noSuchModel", `No such model ${id.toWellFormed()} or task`);
	const { catalog, routing } = services;
	const served = routing.find(id);
	const model = catalog.find(id);
	if (!model) {
		if (served?.named && unservedTask(id) === undefined) return catalog.adHoc(id);
		throw unknown(id, served !== undefined);
	}
	if (!served && model.source === THIRD_PARTY_SOURCE) throw missingKey(id);
	if (hasEnded(model, services))
		throw new AiError(
			"deprecatedModel",
			`${id} was ${model.deprecated ? `deprecated on ${model.deprecated}` : "removed"}. See the model catalog for alternatives, or serve it here by a route that names it (ROUTES)`,
		);
	return model;
}

/** Whose id it is decides the words: the product's own model, or AI Gateway's of a third party. */
function unknown(id: string, isServed: boolean): AiError {
	if (!isThirdPartyId(id)) return new AiError("noSuchModel", `No such model ${id} or task`);
	const task = unservedTask(id);
	if (task !== undefined)
		return new AiError("unknownThirdPartyModel", `Model not found: ${id} (${task} is not available here)`);
	const author = authorOf(id);
	const isKnown = THIRD_PARTY_AUTHORS.has(author) || Object.hasOwn(PROVIDERS, author);
	// Without the author's key nobody can say whether the author has the model.
	if (isKnown && !isServed) return missingKey(id);
	return new AiError("unknownThirdPartyModel", `Model not found: ${id}`);
}

function missingKey(id: string): AiError {
	const author = authorOf(id);
	const where = Object.hasOwn(PROVIDERS, author) ? "PROVIDER_KEYS" : "ROUTES";
	return new AiError(
		"missingProviderKey",
		`Insufficient AI Gateway credits: nothing is set up here for ${author} (see ${where})`,
	);
}

/** Whether a model of the catalogue answers here, as far as can be told without asking it anything. */
export const isServed = (model: Model, services: AuthorizeServices): boolean =>
	services.routing.find(model.id) !== undefined && !hasEnded(model, services);

function hasEnded({ id, status, deprecated }: Model, { routing, now }: AuthorizeServices): boolean {
	if (routing.find(id)?.named) return false;
	return status === "removed" || (deprecated !== undefined && Date.parse(deprecated) <= now());
}
