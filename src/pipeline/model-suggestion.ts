/** The model that a caller probably means by an unknown name: a misspelled id, or an id without its author. Only for error messages. */
import { asQuestion, nearNames } from "../core/did-you-mean.ts";
import type { PipelineServices } from "./services.ts";

/** Characters. The cost of a comparison grows with the length of the name. */
const MAX_NAME = 100;

const lastSegment = (id: string): string => id.slice(id.lastIndexOf("/") + 1);

/** Text to append to an error. Empty if no model has a similar name. Models that are served come first. */
export function modelSuggestion(
	name: string,
	{ catalog, routing }: Pick<PipelineServices, "catalog" | "routing">,
): string {
	if (name.length > MAX_NAME) return "";
	const ids = catalog.all.map(({ id }) => id);
	const near = [...nearNames(name, ids, (id) => id), ...nearNames(lastSegment(name), ids, lastSegment)];
	const suggested = near.find((id) => routing.find(id) !== undefined) ?? near[0];
	return suggested === undefined ? "" : asQuestion(suggested);
}
