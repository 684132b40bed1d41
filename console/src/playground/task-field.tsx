import { Input, InputArea } from "@cloudflare/kumo/components/input";
import { Select } from "@cloudflare/kumo/components/select";
import { Switch } from "@cloudflare/kumo/components/switch";
import type { Field } from "./fields.ts";
import { FileField } from "./file-field.tsx";
import type { Values } from "./values.ts";

const UNSET = "(default)";

interface Props {
	field: Field;
	value: Values[string];
	onChange(value: Values[string]): void;
}

export function TaskField({ field, value, onChange }: Props) {
	const { name: label, required } = field;
	const text = typeof value === "string" ? value : "";
	switch (field.kind) {
		case "file":
			return (
				<FileField
					label={label}
					accept={field.accept}
					required={required}
					file={value instanceof File ? value : undefined}
					onFile={onChange}
				/>
			);
		case "boolean":
			return (
				<Switch
					label={label}
					checked={value === undefined ? field.default === true : value === true}
					onCheckedChange={onChange}
				/>
			);
		case "choice":
			return (
				<Select
					label={label}
					value={text || (required ? (field.choices[0] ?? "") : UNSET)}
					items={Object.fromEntries(
						[...(required ? [] : [UNSET]), ...field.choices].map((choice) => [choice, choice]),
					)}
					onValueChange={(chosen) => onChange(chosen === UNSET || chosen === null ? undefined : chosen)}
				/>
			);
		case "long":
		case "lines":
		case "json":
			return (
				<InputArea
					label={
						field.kind === "lines"
							? `${label} (one per line)`
							: field.kind === "json"
								? `${label} (JSON)`
								: label
					}
					required={required}
					minRows={4}
					value={text}
					onValueChange={onChange}
				/>
			);
		case "number":
			return (
				<Input
					label={label}
					type="number"
					required={required}
					min={field.min}
					max={field.max}
					step={field.integer ? 1 : "any"}
					placeholder={field.default === undefined ? "" : String(field.default)}
					value={text}
					onChange={(event) => onChange(event.target.value)}
				/>
			);
		case "text":
			return (
				<Input
					label={label}
					required={required}
					placeholder={field.default === undefined ? "" : String(field.default)}
					value={text}
					onChange={(event) => onChange(event.target.value)}
				/>
			);
		default:
			return field satisfies never;
	}
}
