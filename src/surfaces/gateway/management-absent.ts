/** Refusals of AI Gateway's resources that this gateway does not have, in the format of its API (docs/choices.md). */
import { FAILURES } from "../../core/errors.ts";
import { defineUnknown, type UnknownPaths } from "../../http/route.ts";
import { ACCOUNT, below } from "../bases.ts";
import { managementFailure } from "./management.ts";

const ABSENT = /\/(datasets|evaluations|evaluation-types|policies|custom-domains|billing)(?:\/|$)/;

export const managementUnknown: readonly UnknownPaths[] = defineUnknown(
	{ bases: [below(ACCOUNT, "/ai-gateway")], tag: "AI Gateway", failure: managementFailure },
	[
		{
			path: "/*",
			explain(path) {
				const [, resource] = ABSENT.exec(path) ?? [];
				return (
					resource && `${FAILURES.noRoute.description}: AI Gateway's resource "${resource}" is not available`
				);
			},
		},
	],
);
