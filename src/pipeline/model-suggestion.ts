/** The model that a caller probably means by an unknown name: a misspelled id, or an id without its author. Only for error messages. */
import { asQuestion, nearNames } from "../core/did-you-mean.ts";
import { inputFamily } from "../models/family.ts";
import { isServed } from "./is-served.ts";
import type { PipelineServices } from "./services.ts";

/** Characters. The cost of a comparison grows with the length of the name. */
const MAX_NAME = 100;

const lastSegment = (id: string): string => id.slice(id.lastIndexOf("/") + 1);

/**
 * Text to append to an error. Empty if no model has a similar name. Models that are served come first: not those that have ended. The name
 * of a guard model begins like those of chat models.
 */
export function modelSuggestion(
	name: string,
	services: Pick<PipelineServices, "catalog" | "now" | "routing">,
): string {
	if (name.length > MAX_NAME) return "";
	const { all } = services.catalog;
	const near = [
		...nearNames(name, all, ({ id }) => id),
		...nearNames(lastSegment(name), all, ({ id }) => lastSegment(id)),
	];
	const served = near.filter((model) => isServed(model, services));
	const [suggested] = [...served.filter((model) => !inputFamily(model).isGuard), ...served, ...near];
	return suggested === undefined ? "" : asQuestion(suggested.id);
}
