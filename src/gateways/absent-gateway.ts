/** The sentence about a gateway that the account does not have. */
import { didYouMean } from "../core/did-you-mean.ts";
import { quotedName } from "../core/not-found.ts";

/** `names`: those of the account. `cure`: the end of the sentence if none of them is near. */
export const noGateway = (id: string, names: readonly string[], cure = ""): string =>
	`the account has no gateway ${quotedName(id)}${didYouMean(id, names) || cure}`;
