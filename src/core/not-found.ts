/** 7002: a thing of the account or of the operator that does not exist, by the name that was asked for. */
import { didYouMean, nearNames, quote } from "./did-you-mean.ts";
import { AiError } from "./errors.ts";

/** Characters. A longer name is truncated. */
const MAX_SHOWN = 64;

/** As messages show a name of a request. */
export const quotedName = (name: string): string =>
	quote(name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN).toWellFormed()}…` : name.toWellFormed());

interface Hints {
	/** The names that exist, as far as the caller knows: one that is not found has been deleted since. */
	known?: readonly string[];
	/** The end of the sentence if none of them is near. */
	cure?: string;
}

export function notFound(kind: string, name: string, { known = [], cure = "" }: Hints = {}): AiError {
	const others = known.filter((one) => one !== name);
	return new AiError("notFound", `${kind} not found: ${quotedName(name)}${didYouMean(name, others) || cure}`);
}

interface NamedById {
	id: string;
	names: readonly string[];
}

/** The same for a thing with an id: the caller may have sent its name instead. `cure`: the end of the sentence if no name is near. */
export function idNotFound(kind: string, id: string, things: readonly NamedById[], cure = ""): AiError {
	const names = things.flatMap((thing) => thing.names.map((name) => ({ id: thing.id, name })));
	const [near] = nearNames(id, names, ({ name }) => name);
	return notFound(kind, id, {
		cure: near ? `; the id of ${quotedName(near.name)} is ${quote(near.id)}` : cure,
	});
}
