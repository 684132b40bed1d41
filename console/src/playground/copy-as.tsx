import { Code } from "../parts/code.tsx";
import { callExamples } from "./call-examples.ts";

interface Props {
	model: string;
	input: object;
	account: string;
	/** Title of the open example. */
	open?: string;
}

/** The call in the languages of other clients. */
export function CopyAs({ model, input, account, open }: Props) {
	return (
		<section className="stack" aria-label="Copy as">
			{callExamples({ model, input, account, origin: location.origin }).map(({ title, text }) => (
				<details key={title} open={title === open}>
					<summary>Copy as {title}</summary>
					<Code label={title} text={text} />
				</details>
			))}
		</section>
	);
}
