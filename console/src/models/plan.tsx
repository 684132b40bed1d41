import { type Api, ApiError, pathOfModel } from "../api/client.ts";
import type { Explanation, JsonSchema, ModelSchema } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Failure } from "../parts/failure.tsx";
import { Loading } from "../parts/loading.tsx";
import { TargetTable } from "../parts/targets.tsx";
import { useSession } from "../session/session.ts";
import { exampleInput, isComplete } from "./example.ts";

/** A route can have models that are not in the catalogue. Their example is a chat. */
const CHAT = { messages: [{ role: "user", content: "Hello, who are you?" }] };
const NO_SUCH_MODEL = 5007;

async function inputOf(api: Api, model: string, signal: AbortSignal): Promise<JsonSchema | undefined> {
	try {
		const { result } = await api.get<ModelSchema>(api.account("/ai/models/schema"), { model }, signal);
		return result.input;
	} catch (error) {
		if (error instanceof ApiError && error.code === NO_SUCH_MODEL) return undefined;
		throw error;
	}
}

/** Why the example would be refused. An example that lacks a file is not a reason. */
export const reasonsOf = (refused: Explanation["refused"], complete: boolean): Explanation["refused"] =>
	complete ? refused : refused.filter(({ step }) => step !== "parse");

/** The plan of an example request: which engines would be tried, without a call. */
export function Plan({ model }: { model: string }) {
	const { api } = useSession();
	const plan = useLoad(
		async (signal) => {
			const path = api.account(`/ai/explain/${pathOfModel(model)}`);
			const input = await inputOf(api, model, signal);
			const plan = await api.send<Explanation>("POST", path, input ? exampleInput(input, model) : CHAT);
			return { ...plan, refused: reasonsOf(plan.refused, !input || isComplete(input)) };
		},
		[api, model],
	);
	return (
		<Loading of={plan}>
			{({ targets = [], refused }) => (
				<>
					<TargetTable targets={targets} />
					{refused.map(({ step, message }) => (
						<Failure key={step} error={new Error(message)} />
					))}
				</>
			)}
		</Loading>
	);
}
