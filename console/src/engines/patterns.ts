/** Which models a route serves: the precedence of `ROUTES`, as docs/routing.md describes it. */

/** A pattern contains `*`, which stands for any text. */
export const isPattern = (pattern: string): boolean => pattern.includes("*");

export function matches(pattern: string, model: string): boolean {
	const literal = pattern.split("*").map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
	return new RegExp(`^${literal.join(".*")}$`).test(model);
}

/** The models that this route serves. An exact route, or one with more literal characters, takes a model from it. */
export const servedBy = (
	pattern: string,
	patterns: readonly string[],
	models: readonly string[],
): string[] => {
	const stronger = patterns.filter((other) => rank(other) > rank(pattern));
	return models.filter(
		(model) => matches(pattern, model) && !stronger.some((other) => matches(other, model)),
	);
};

const rank = (pattern: string): number =>
	isPattern(pattern) ? pattern.replaceAll("*", "").length : Number.POSITIVE_INFINITY;
