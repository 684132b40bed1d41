/** Runs the steps of a request in AI Gateway's formats. */
import type { AiError } from "../../core/errors.ts";
import { runSteps as runStepsOf, type StepsContext } from "../../gateways/run/run-steps.ts";
import type { Step } from "../../gateways/run/step.ts";
import { gatewayFailure } from "./gateway-failure.ts";
import { formatOf } from "./step-format.ts";

export type StepsRequest = Omit<StepsContext, "failure" | "format">;

export const runSteps = (read: () => Step[] | Promise<Step[]>, request: StepsRequest): Promise<Response> =>
	runStepsOf(read, { ...request, failure: gatewayFailure, format: formatOf });

/** `failed`: the error that the response renders. Absent: it is the answer of a model, or of a provider, also if that has failed. */
export async function runStepsOfFrame(
	read: () => Step[],
	request: StepsRequest,
): Promise<{ response: Response; failed?: AiError | undefined }> {
	let failed: AiError | undefined;
	const response = await runStepsOf(read, {
		...request,
		failure(error) {
			failed = error;
			return gatewayFailure(error);
		},
		format(step) {
			failed = undefined;
			const format = formatOf(step);
			return {
				...format,
				failure(error, requestId) {
					failed = error;
					return format.failure(error, requestId);
				},
			};
		},
	});
	return response.ok ? { response } : { response, failed };
}
