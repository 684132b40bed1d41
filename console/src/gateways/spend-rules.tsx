import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import type { SpendRule } from "../../../src/gateways/settings.ts";
import { WINDOWS, windowText } from "./rules.ts";

interface Props {
	rules: readonly SpendRule[];
	onChange(rules: readonly SpendRule[]): void;
}

const DEFAULT_WINDOW = 86_400;

/** The limits of a gateway's costs. */
export function SpendRules({ rules, onChange }: Props) {
	const change = (at: number, changes: Partial<SpendRule>): void =>
		onChange(rules.map((rule, index) => (index === at ? { ...rule, ...changes } : rule)));
	return (
		<fieldset className="stack" aria-label="Spend limits">
			{rules.map((rule, at) => (
				// biome-ignore lint/suspicious/noArrayIndexKey: a rule has no other name, and its fields keep no state.
				<div key={at} className="filters">
					<Input
						label={`Spend limit ${at + 1} (US dollars)`}
						type="number"
						required
						min={0}
						step="any"
						value={rule.limit || ""}
						onChange={(event) => change(at, { limit: Number(event.target.value) })}
					/>
					<Select
						label="Window"
						value={String(rule.window)}
						items={Object.fromEntries(
							[...Object.keys(WINDOWS).map(Number), rule.window].map((seconds) => [
								String(seconds),
								windowText(seconds),
							]),
						)}
						onValueChange={(chosen) => change(at, { window: Number(chosen ?? rule.window) })}
					/>
					<Button
						type="button"
						variant="secondary-destructive"
						aria-label={`Remove spend limit ${at + 1}`}
						onClick={() => onChange(rules.filter((_, index) => index !== at))}
					>
						Remove
					</Button>
				</div>
			))}
			<div className="buttons">
				<Button
					type="button"
					size="sm"
					onClick={() => onChange([...rules, { limitType: "cost", limit: 0, window: DEFAULT_WINDOW }])}
				>
					Add a spend limit
				</Button>
			</div>
		</fieldset>
	);
}
