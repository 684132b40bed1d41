import { Facts } from "../parts/facts.tsx";
import { decimal, integer, milliseconds, rate } from "../parts/format.ts";
import { type Metrics, tokensPerSecond } from "./metrics.ts";

export function MetricsLine({ metrics }: { metrics: Metrics }) {
	const { totalMs, firstTokenMs, inputTokens, outputTokens, neurons, backend, engineModel, attempts } =
		metrics;
	const speed = tokensPerSecond(metrics);
	return (
		<section className="card" aria-label="Measurements">
			<Facts
				rows={[
					["Neurons", neurons === undefined ? undefined : cost(neurons)],
					["Input tokens", inputTokens === undefined ? undefined : integer(inputTokens)],
					["Output tokens", outputTokens === undefined ? undefined : integer(outputTokens)],
					["First token", firstTokenMs === undefined ? undefined : milliseconds(firstTokenMs)],
					["Tokens per second", speed === undefined ? undefined : rate(speed)],
					["Total", milliseconds(totalMs)],
					["Answered by", backend && `${backend}${engineModel ? ` (${engineModel})` : ""}`],
					["Attempts", attempts !== undefined && attempts > 1 ? integer(attempts) : undefined],
				]}
			/>
		</section>
	);
}

/** Answers report two decimals and cut off the others, so 0 is any cost below that. */
const cost = (neurons: number): string => (neurons === 0 ? "< 0.01" : decimal(neurons));
