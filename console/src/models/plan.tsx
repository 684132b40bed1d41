import { pathOfModel } from "../api/client.ts";
import type { Explanation, ModelSchema } from "../api/types.ts";
import { useLoad } from "../api/use-load.ts";
import { Failure } from "../parts/failure.tsx";
import { Loading } from "../parts/loading.tsx";
import { TargetTable } from "../parts/targets.tsx";
import { useSession } from "../session/session.ts";
import { exampleInput } from "./example.ts";

/** The plan of an example request: which engines would be tried, without a call. */
export function Plan({ model }: { model: string }) {
	const { api } = useSession();
	const plan = useLoad(
		async (signal) => {
			const path = api.account(`/ai/explain/${pathOfModel(model)}`);
			const schema = await api.get<ModelSchema>(api.account("/ai/models/schema"), { model }, signal);
			return api.send<Explanation>("POST", path, exampleInput(schema.result.input));
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
