/** A cron in words: `every day at 02:15`, `every 30 minutes from 06:00 to 18:30, Monday to Friday`. Pure. */
import { listed } from '../base/text.ts';
import type { CronFields } from './ticks.ts';

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

/** Times of a day that are named one by one. */
const mostTimes = 4;

export function cronWords(fields: CronFields): string {
  const days = daysText(fields);
  const { text, isOften } = timesText(fields);
  if (isOften) return days === 'every day' ? text : `${text}, ${days}`;
  return `${days} ${text}`;
}

function timesText({ hours, minutes }: CronFields): { readonly text: string; readonly isOften: boolean } {
  const stepMinutes = stepOf(minutes, 60);
  const isEveryHour = hours.length === 24;
  const [firstHour = 0] = hours;
  const lastHour = hours.at(-1) ?? 0;
  const [firstMinute = 0] = minutes;
  const lastMinute = minutes.at(-1) ?? 0;
  const isRange = hours.length > 1 && lastHour - firstHour === hours.length - 1;
  const span = ` from ${timeText(firstHour, firstMinute)} to ${timeText(lastHour, lastMinute)}`;
  if (isEveryHour || (isRange && hours.length * minutes.length > mostTimes)) {
    const where = isEveryHour ? '' : span;
    if (stepMinutes !== undefined) {
      return { text: `every ${stepMinutes === 1 ? 'minute' : `${stepMinutes} minutes`}${where}`, isOften: true };
    }
    const at = minutes.map((minute) => String(minute).padStart(2, '0'));
    const which = at.length === 1 && at[0] === '00' ? '' : ` at minute ${listed(at)}`;
    return { text: `every hour${which}${where}`, isOften: true };
  }
  const times = hours.flatMap((hour) => minutes.map((minute) => timeText(hour, minute)));
  if (times.length <= mostTimes) return { text: `at ${listed(times)}`, isOften: false };
  const hourStep = minutes.length === 1 ? stepOf(hours, 24) : undefined;
  if (hourStep !== undefined) {
    return { text: `every ${hourStep} hours from ${timeText(firstHour, firstMinute)}`, isOften: true };
  }
  return { text: `${times.length} times a day${span}`, isOften: true };
}

/** How far apart they are, from 0 on; undefined where they are not evenly so. */
function stepOf(values: readonly number[], whole: number): number | undefined {
  const step = whole / values.length;
  return values.length > 1 && values.every((value, index) => value === index * step) ? step : undefined;
}

function timeText(hour: number, minute: number): string {
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
}

function daysText({ daysOfMonth, months, daysOfWeek, isEveryDayOfMonth, isEveryDayOfWeek }: CronFields): string {
  const inMonths = months.length === 12 ? undefined : listed(months.map((month) => monthNames[month - 1] ?? ''));
  const ofMonth = `on day ${listed(daysOfMonth.map(String))} of ${inMonths ?? 'each month'}`;
  const ofWeek = weekText(daysOfWeek);
  const inThem = inMonths === undefined ? '' : ` in ${inMonths}`;
  if (isEveryDayOfMonth && isEveryDayOfWeek) return `every day${inThem}`;
  if (isEveryDayOfMonth) return `${ofWeek}${inThem}`;
  // Of two that are restricted, one is enough.
  return isEveryDayOfWeek ? ofMonth : `${ofMonth}, and ${ofWeek}${inThem}`;
}

function weekText(days: readonly number[]): string {
  const [first = 0] = days;
  const last = days.at(-1) ?? 0;
  if (days.length > 2 && last - first === days.length - 1) return `${weekdays[first] ?? ''} to ${weekdays[last] ?? ''}`;
  return `each ${listed(days.map((day) => weekdays[day] ?? ''))}`;
}
