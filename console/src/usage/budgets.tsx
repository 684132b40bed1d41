import { Meter } from "@cloudflare/kumo/components/meter";
import type { LimitsBudget } from "../api/types.ts";
import { decimal } from "../parts/format.ts";

const PERIODS = { day: "today", month: "this month" } as const;

/** Keys are `account`, `token:{id}` and `model:{id}`. */
function nameOf({ key, name }: LimitsBudget): string {
	if (key === "account") return "Account";
	if (name !== undefined) return `Token ${name}`;
	return key.startsWith("token:") ? "This token" : key.replace(/^model:/, "");
}

/** Spent and reserved neurons of each budget. A budget without a limit has no bar. */
export const Budgets = ({ budgets }: { budgets: readonly LimitsBudget[] }) => (
	<div className="stack">
		{budgets.map((budget) => {
			const { key, period, neurons, spent, reserved } = budget;
			const label = `${nameOf(budget)}, ${PERIODS[period]}`;
			const id = `${key} ${period}`;
			const used = spent + reserved;
			return neurons === null ? (
				<p key={id}>
					{label}: {decimal(used)} neurons, no limit
				</p>
			) : (
				<Meter
					key={id}
					label={label}
					value={Math.min(used, neurons)}
					max={Math.max(neurons, Number.MIN_VALUE)}
					customValue={`${decimal(used)} of ${decimal(neurons)} neurons`}
				/>
			);
		})}
	</div>
);
