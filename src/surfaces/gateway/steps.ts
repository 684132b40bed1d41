/** Runs the steps of a request in AI Gateway's formats. */
import { runSteps as runStepsOf, type StepsContext } from "../../gateways/run/run-steps.ts";
import type { Step } from "../../gateways/run/step.ts";
import { gatewayFailure } from "./gateway-failure.ts";
import { formatOf } from "./step-format.ts";

export type StepsRequest = Omit<StepsContext, "failure" | "format">;

export const runSteps = (read: () => Step[] | Promise<Step[]>, request: StepsRequest): Promise<Response> =>
	runStepsOf(read, { ...request, failure: gatewayFailure, format: formatOf });
