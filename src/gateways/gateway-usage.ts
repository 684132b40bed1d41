/** Tokens and cost of the calls of a request in a gateway. */
export interface GatewayUsage {
	inputTokens: number;
	/** The part of the input that was read from a cache. */
	cachedTokens: number;
	/** The part of the input that was written to a cache, if the provider counts it. */
	cacheWriteTokens?: number;
	outputTokens: number;
	/** US dollars. Absent: the price is unknown. */
	cost?: number;
	/** The tokens are an estimate, because the engine or the provider sent no counts. */
	estimated?: boolean;
}

export function sumOfUsage(one: GatewayUsage, other: GatewayUsage): GatewayUsage {
	const cost =
		one.cost === undefined && other.cost === undefined ? undefined : (one.cost ?? 0) + (other.cost ?? 0);
	const written = (one.cacheWriteTokens ?? 0) + (other.cacheWriteTokens ?? 0);
	return {
		inputTokens: one.inputTokens + other.inputTokens,
		cachedTokens: one.cachedTokens + other.cachedTokens,
		...(written > 0 && { cacheWriteTokens: written }),
		outputTokens: one.outputTokens + other.outputTokens,
		...(cost !== undefined && { cost }),
		...((one.estimated || other.estimated) && { estimated: true }),
	};
}
