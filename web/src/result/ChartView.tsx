// A chart: horizontal bars with their values, which also fit a phone, or lines over an axis.
import { useElementSize } from "@mantine/hooks";
import { axisTicks, type Chart, formatTick, type Series, splitByScale } from "./chart";
import styles from "./ChartView.module.css";
import typography from "../ui/typography.module.css";

export default function ChartView({ chart }: { chart: Chart }) {
  return splitByScale(chart).map((part) => <Figure key={part.series[0]?.name} chart={part} />);
}

function Figure({ chart }: { chart: Chart }) {
  return (
    <figure className={styles.chart} data-testid="chart" data-kind={chart.kind}>
      {chart.series.length > 1 && (
        <figcaption className={styles.legend}>
          {chart.series.map((item, index) => (
            <span key={item.name}>
              <span className={styles.key} data-series={index} aria-hidden="true" /> {item.name}
            </span>
          ))}
        </figcaption>
      )}
      {chart.series.length === 1 && <figcaption className={typography.dimmed}>{chart.series[0]?.name}</figcaption>}
      {chart.kind === "bar" ? <Bars chart={chart} /> : <Lines chart={chart} />}
    </figure>
  );
}

function Bars({ chart: { labels, series } }: { chart: Chart }) {
  const values = series.flatMap((item) => item.values.map((value) => value ?? 0));
  const low = Math.min(0, ...values);
  const range = Math.max(0, ...values) - low || 1;
  const percent = (value: number) => `${(value / range) * 100}%`;
  return (
    <ul role="list" className={styles.bars}>
      {labels.map((label, row) => (
        <li key={row}>
          <span className={styles.label} title={label}>
            {label || "–"}
          </span>
          <span className={styles.row}>
            {series.map((item, index) => {
              const value = item.values[row] ?? null;
              return (
                <span key={item.name} className={styles.bar}>
                  <span className={styles.track}>
                    {value !== null && <span className={styles.fill} data-series={index} style={{ marginLeft: percent(Math.min(value, 0) - low), width: percent(Math.abs(value)) }} />}
                  </span>
                  <span className={styles.value}>{item.texts[row] || "–"}</span>
                </span>
              );
            })}
          </span>
        </li>
      ))}
    </ul>
  );
}

const HEIGHT = 240;
const MARGIN = { left: 52, right: 14, top: 10, bottom: 26 };
const MIN_LABEL_WIDTH = 84; // pixels that a label below the axis needs

function Lines({ chart: { labels, series } }: { chart: Chart }) {
  const { ref, width } = useElementSize();
  const ticks = axisTicks(series);
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const inner = Math.max(0, width - MARGIN.left - MARGIN.right);
  const x = (index: number) => MARGIN.left + (labels.length > 1 ? (index / (labels.length - 1)) * inner : inner / 2);
  const y = (value: number) => MARGIN.top + (1 - (value - low) / (high - low || 1)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const every = Math.max(1, Math.ceil(labels.length / Math.max(1, Math.floor(inner / MIN_LABEL_WIDTH))));
  return (
    <div ref={ref} style={{ height: HEIGHT }}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} role="img" aria-label={`${series.map((item) => item.name).join(", ")} from ${labels[0]} to ${labels.at(-1)}`}>
          {ticks.map((tick) => (
            <g key={tick} className={styles.mark}>
              <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} data-zero={tick === 0 || undefined} />
              <text x={MARGIN.left - 8} y={y(tick)} textAnchor="end" dominantBaseline="middle">
                {formatTick(tick)}
              </text>
            </g>
          ))}
          {labels.map((label, index) =>
            index % every === 0 ? (
              <text key={index} className={styles.tick} x={x(index)} y={HEIGHT - 6} textAnchor={index === 0 ? "start" : index === labels.length - 1 ? "end" : "middle"}>
                {label.length > 12 ? `${label.slice(0, 11)}…` : label}
              </text>
            ) : null,
          )}
          {series.map((item, index) => (
            <SeriesLine key={item.name} series={item} index={index} labels={labels} x={x} y={y} />
          ))}
        </svg>
      )}
    </div>
  );
}

interface LineProps {
  series: Series;
  index: number;
  labels: readonly string[];
  x: (index: number) => number;
  y: (value: number) => number;
}

/** A missing value is a gap in the line. */
function SeriesLine({ series, index, labels, x, y }: LineProps) {
  const line = series.values.map((value, index_) => (value === null ? "" : `${index_ === 0 || series.values[index_ - 1] === null ? "M" : "L"} ${x(index_)} ${y(value)}`)).join(" ");
  return (
    <g className={styles.line} data-series={index}>
      <path d={line} />
      {series.values.map((value, at) =>
        value === null ? null : (
          <circle key={at} cx={x(at)} cy={y(value)} r={series.values.length > 60 ? 1.5 : 3}>
            <title>
              {labels[at]}: {series.texts[at]}
            </title>
          </circle>
        ),
      )}
    </g>
  );
}
