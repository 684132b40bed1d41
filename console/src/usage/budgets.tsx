import { Meter } from "@cloudflare/kumo/components/meter";
import type { LimitsBudget } from "../api/types.ts";
import { decimal } from "../parts/format.ts";

const PERIODS = { day: "today", month: "this month" } as const;

/** Keys are `account`, `token:{id}` and `model:{id}`. */
function nameOf(key: string): string {
	if (key === "account") return "Account";
	return key.startsWith("token:") ? "This token" : key.replace(/^model:/, "");
}

/** Spent and reserved neurons of each budget. A budget without a limit has no bar. */
export const Budgets = ({ budgets }: { budgets: readonly LimitsBudget[] }) => (
	<div className="stack">
		{budgets.map(({ key, period, neurons, spent, reserved }) => {
			const label = `${nameOf(key)}, ${PERIODS[period]}`;
			const used = spent + reserved;
			return neurons === null ? (
				<p key={label}>
					{label}: {decimal(used)} neurons, no limit
				</p>
			) : (
				<Meter
					key={label}
					label={label}
					value={Math.min(used, neurons)}
					max={Math.max(neurons, Number.MIN_VALUE)}
					customValue={`${decimal(used)} of ${decimal(neurons)} neurons`}
				/>
			);
		})}
	</div>
);
