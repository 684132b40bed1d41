/** The deadline of one call of an engine, with the timeouts of its target. */
import { Deadline } from "../../outbound/deadline.ts";
import { type Call, failureOfTarget } from "./upstream-failure.ts";

/**
 * Starts with the wait for the header. A complete answer has its header only when it has been generated: there the limit
 * of the complete call alone applies.
 */
export function startDeadline(
	{ services, signal, target }: Call,
	answers: "complete" | "stream" = "stream",
): Deadline {
	const { headerMs, totalMs } = target.timeouts;
	const deadline = new Deadline({
		signal,
		totalMs,
		now: services.now,
		startTimer: services.startTimer,
		silent: (limitMs) => failureOfTarget(target, "timeout", `was silent for ${limitMs} ms`),
		late: () => failureOfTarget(target, "modelTimeout", `took longer than ${totalMs} ms`),
	});
	deadline.expect(answers === "stream" ? headerMs : totalMs);
	return deadline;
}
