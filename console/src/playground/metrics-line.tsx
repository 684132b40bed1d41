import { Facts } from "../parts/facts.tsx";
import { decimal, integer, milliseconds, rate } from "../parts/format.ts";
import { type Metrics, tokensPerSecond } from "./metrics.ts";

interface Props {
	metrics: Metrics;
	/** The model has no price. */
	free: boolean;
}

export function MetricsLine({ metrics, free }: Props) {
	const {
		totalMs,
		firstTokenMs,
		inputTokens,
		outputTokens,
		neurons,
		backend,
		engineModel,
		weights,
		attempts,
	} = metrics;
	const speed = tokensPerSecond(metrics);
	return (
		<section className="card" aria-label="Measurements">
			<Facts
				// Answers report two decimals and cut off the others, so 0 of a price is any cost below that.
				rows={[
					[
						"Neurons",
						neurons === undefined ? undefined : neurons === 0 && !free ? "< 0.01" : decimal(neurons),
					],
					["Input tokens", inputTokens === undefined ? undefined : integer(inputTokens)],
					["Output tokens", outputTokens === undefined ? undefined : integer(outputTokens)],
					["First token", firstTokenMs === undefined ? undefined : milliseconds(firstTokenMs)],
					["Tokens per second", speed === undefined ? undefined : rate(speed)],
					["Total", milliseconds(totalMs)],
					["Answered by", backend && `${backend}${engineModel ? ` (${engineModel})` : ""}`],
					["Weights", weights],
					["Attempts", attempts !== undefined && attempts > 1 ? integer(attempts) : undefined],
				]}
			/>
		</section>
	);
}
