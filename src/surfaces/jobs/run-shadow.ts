/**
 * Sends a request to the shadow of its route, and compares the answers. It runs in the gateway of the request, with its data-loss rules and nothing
 * else: no limit, cache, guardrail, log or collector of the account. The operator's own account pays.
 */
import { OPERATOR_ACCOUNT } from "../../accounts/operator-account.ts";
import { toAiError } from "../../core/errors.ts";
import { withMembers } from "../../core/with-members.ts";
import { OPENAI_CHAT, onlyFor } from "../../dialects/route-dialect.ts";
import { answerIn } from "../../gateways/comparisons/answers.ts";
import { comparedAnswer, comparisonOf, cut, factsOf } from "../../gateways/comparisons/comparison.ts";
import type { Comparison } from "../../gateways/comparisons/records.ts";
import { sentAgain } from "../../gateways/comparisons/sent-request.ts";
import { GatewayCounters } from "../../gateways/export/counters.ts";
import { retentionOf } from "../../gateways/logs/collection.ts";
import type { RunShadow, ShadowedRequest, ShadowOutcome } from "../../gateways/run/shadows.ts";
import { DEFAULT_SETTINGS, type GatewaySettings } from "../../gateways/settings.ts";
import { sourceOfShadow } from "../../gateways/shadows/shadow-routes.ts";
import type { Model } from "../../models/model.ts";
import { FailureCounts } from "../../telemetry/failure-counts.ts";
import type { AppServices } from "../services.ts";
import { lineRunner } from "./batch-work.ts";
import { lineOf, MAX_MESSAGE, unloggedAnswer, unloggedHeaders } from "./unlogged-run.ts";

/** The row of a long answer may still be on its way. */
const ARRIVAL_MS = 1_000;

const LEAKS: ReadonlySet<string> = new Set(["requestLeak", "responseLeak"]);

export const runShadow: RunShadow<AppServices> = async (shadowed, services, signal) => {
	const { account, isPart, log, model, settings, shadow } = shadowed;
	const { request, response, row } = log;
	const again = request?.complete && response ? sentAgain(row.path, request.text) : undefined;
	if (!again?.ok || !response || !(await isChat(model))) return "unsent";
	const run = lineRunner(servicesOf(shadowed, services));
	const answered = await unloggedAnswer(
		{
			id: services.uuid(),
			caller: {
				account: OPERATOR_ACCOUNT,
				credential: { kind: "operator" },
				verified: true,
				identity: {},
			},
			headers: unloggedHeaders(settings.id),
			signal,
			...lineOf(again, model.id),
		},
		{
			services,
			run: (call, own) => run(call, { ...own, ledgers: services.ledgers, observers: [] }),
		},
	);
	const before = { facts: factsOf(row), text: response.text };
	let comparison: Comparison = {
		log: row.id,
		before: comparedAnswer(before.facts, answerIn(before.text)),
	};
	// A part of the answer is not the whole.
	if ((isPart || !response.complete) && comparison.before) comparison.before.text_complete = false;
	let outcome: ShadowOutcome = "compared";
	if (answered.ok) {
		const [target] = shadow.routed.targets;
		const facts = { ...answered.facts, provider: target?.backend ?? "", model: target?.model ?? "" };
		const compared = comparisonOf(row.id, before, { facts, text: answered.text });
		comparison = comparison.before?.text_complete ? compared : { ...comparison, ...afterOf(compared) };
	} else {
		const { error } = answered;
		outcome = LEAKS.has(error.key) ? "refused" : "failed";
		comparison.error = { code: error.code, message: cut(error.description, MAX_MESSAGE) };
	}
	const logs = services.gatewayLogs.of(account, settings.id);
	const isStored = async (): Promise<boolean> => (await logs.log(row.id)) !== undefined;
	if (!(await isStored())) {
		await services.wait(ARRIVAL_MS, signal);
		if (!(await isStored())) return "unlogged";
	}
	const text = JSON.stringify(comparison);
	await logs.addComparisons(
		sourceOfShadow(shadow.name),
		[{ log: row.id, text }],
		retentionOf(settings, services.limits),
	);
	return outcome;
};

const afterOf = ({ after }: Comparison): Pick<Comparison, "after"> => (after ? { after } : {});

/** The path of a run does not tell the task of its model. */
async function isChat(model: Model): Promise<boolean> {
	try {
		await onlyFor(OPENAI_CHAT)(model);
		return true;
	} catch (thrown) {
		if (toAiError(thrown).status >= 500) throw thrown;
		return false;
	}
}

/** Failures of shadows are results, and no failures of live requests. */
const UNREPORTED = { failureCounts: new FailureCounts(), gatewayCounters: new GatewayCounters() };

const servicesOf = ({ model, settings, shadow }: ShadowedRequest, services: AppServices): AppServices => ({
	...services,
	...UNREPORTED,
	log: () => {},
	gateways: withMembers(services.gateways, { find: async () => rulesOf(settings) }),
	routing: withMembers(services.routing, {
		find: (id) => (id === model.id ? shadow.routed : services.routing.find(id)),
	}),
});

const rulesOf = ({ id, created_at, modified_at, is_default, dlp }: GatewaySettings): GatewaySettings => ({
	...DEFAULT_SETTINGS,
	...{ id, created_at, modified_at, is_default, dlp },
});
